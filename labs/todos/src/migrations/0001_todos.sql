CREATE TABLE todos (
    id serial PRIMARY KEY,
    name varchar NOT NULL DEFAULT 'United todo',
    description varchar NOT NULL DEFAULT '',
    done boolean NOT NULL DEFAULT false,
    created_at timestamp NOT NULL DEFAULT now(),
    updated_at timestamp
);
-- As published: one more index on what the primary key has already, and one on done.
CREATE INDEX ix_todos_id ON todos (id);
CREATE INDEX ix_todos_done ON todos (done);
