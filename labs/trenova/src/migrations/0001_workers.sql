CREATE TABLE business_units (
    id varchar(100) PRIMARY KEY,
    name varchar(100) NOT NULL
);
CREATE TABLE organizations (
    id varchar(100) NOT NULL,
    business_unit_id varchar(100) NOT NULL REFERENCES business_units (id),
    name varchar(100) NOT NULL,
    PRIMARY KEY (id, business_unit_id)
);
CREATE TABLE users (
    id varchar(100) NOT NULL,
    organization_id varchar(100) NOT NULL,
    business_unit_id varchar(100) NOT NULL,
    name varchar(100) NOT NULL,
    email varchar(255) NOT NULL,
    password varchar(255) NOT NULL,
    PRIMARY KEY (id, organization_id, business_unit_id),
    FOREIGN KEY (organization_id, business_unit_id) REFERENCES organizations (id, business_unit_id)
);
CREATE UNIQUE INDEX users_email ON users (lower(email));

CREATE TYPE worker_status AS ENUM ('Active', 'Inactive');
CREATE TYPE worker_type AS ENUM ('Employee', 'Contractor');
CREATE TYPE gender AS ENUM ('Male', 'Female', 'Other');

CREATE TABLE workers (
    id varchar(100) NOT NULL,
    organization_id varchar(100) NOT NULL,
    business_unit_id varchar(100) NOT NULL,
    state_id varchar(100),
    fleet_code_id varchar(100),
    status worker_status NOT NULL DEFAULT 'Active',
    type worker_type NOT NULL DEFAULT 'Employee',
    first_name varchar(100) NOT NULL,
    last_name varchar(100) NOT NULL,
    address_line1 varchar(150) NOT NULL DEFAULT '',
    address_line2 varchar(150) NOT NULL DEFAULT '',
    city varchar(100) NOT NULL DEFAULT '',
    postal_code varchar(20) NOT NULL DEFAULT '',
    gender gender NOT NULL DEFAULT 'Other',
    can_be_assigned boolean NOT NULL DEFAULT true,
    assignment_blocked varchar(255) NOT NULL DEFAULT '',
    profile_pic_url varchar(255) NOT NULL DEFAULT '',
    version bigint NOT NULL DEFAULT 0,
    created_at bigint NOT NULL DEFAULT extract(epoch FROM now())::bigint,
    updated_at bigint NOT NULL DEFAULT extract(epoch FROM now())::bigint,
    search_vector tsvector GENERATED ALWAYS AS
        (to_tsvector('simple'::regconfig, first_name || ' ' || last_name)) STORED,
    PRIMARY KEY (id, organization_id, business_unit_id),
    FOREIGN KEY (organization_id, business_unit_id) REFERENCES organizations (id, business_unit_id)
);
-- As published; the index that the story is about is a switch, and made by the service.
CREATE INDEX workers_business_unit ON workers (business_unit_id);
CREATE INDEX workers_organization ON workers (organization_id);
CREATE INDEX workers_state ON workers (state_id);
CREATE INDEX workers_status ON workers (status);
CREATE INDEX workers_type ON workers (type);
CREATE INDEX workers_name ON workers (last_name, first_name);
CREATE INDEX workers_dates ON workers (created_at, updated_at);
CREATE INDEX workers_search ON workers USING gin (search_vector);
