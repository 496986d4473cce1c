-- Says who changed something, to those who keep the list in memory. The service makes the trigger when it does.
CREATE FUNCTION todos_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('todos_changed', coalesce(current_setting('todos.node', true), ''));
    RETURN NULL;
END
$$;
