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
