"""Floor 6: values become text, JSON and files. Pure: nothing here asks the host or prints."""
