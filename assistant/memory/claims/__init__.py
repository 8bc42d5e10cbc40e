"""What a reply claims to have done."""
