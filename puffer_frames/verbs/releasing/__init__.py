"""From a plan to released rows, and to a refined release."""
