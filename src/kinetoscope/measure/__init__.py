"""What a trace means: tables, idle time, and expressions over recordings."""
