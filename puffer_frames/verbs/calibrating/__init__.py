"""From a request to a plan, and what a plan offers."""
