"""What messages, features and batteries cost."""
