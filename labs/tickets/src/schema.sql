CREATE TABLE tickets (
    id varchar(255) PRIMARY KEY,
    name varchar(255) NOT NULL,
    stock int NOT NULL
);
CREATE TABLE ticket_units (
    id serial PRIMARY KEY,
    ticket_id varchar(255) NOT NULL REFERENCES tickets (id),
    reserved boolean NOT NULL DEFAULT false
);
CREATE TABLE idempotency_keys (
    key varchar(200) PRIMARY KEY,
    request text NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX idx_idempotency_keys_on_made_at ON idempotency_keys (made_at);
