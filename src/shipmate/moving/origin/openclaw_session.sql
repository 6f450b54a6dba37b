SELECT session_id, session_key FROM session_windows ORDER BY created_at DESC, session_id
