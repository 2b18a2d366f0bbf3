"""What measures and draws a student's functions; nothing here judges."""
