"""Floor 5: which stack to install, through which mirrors, with which commands and settings. Pure: values in, a Plan out."""
