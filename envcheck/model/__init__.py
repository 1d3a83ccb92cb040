"""Floor 0: frozen values only. Nothing here touches the host or imports another floor."""
