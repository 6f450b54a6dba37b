"""Hold pure data: messages, parts, chunks, thread ids and platform events. Nothing here does I/O."""
