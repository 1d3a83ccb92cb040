"""Floor 2: other people's texts and files become values: host documents, model folders, the model hub."""
