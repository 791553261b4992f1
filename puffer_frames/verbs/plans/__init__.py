"""What was decided: scales and channels with the laws that they rest on, their text, page, file and pictures."""
