SELECT event_json FROM transcript_events WHERE session_id = ? ORDER BY seq
