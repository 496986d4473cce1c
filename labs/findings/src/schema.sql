-- Tables of the shop. What a defect changes is in prepare.rs.
CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- Recurring jobs: one that ends is due again at once.
CREATE TABLE jobs (
    id bigint PRIMARY KEY,
    state text NOT NULL,
    run_at timestamptz NOT NULL,
    payload text NOT NULL
);
CREATE TABLE cases (
    id bigint PRIMARY KEY,
    state text NOT NULL,
    priority int NOT NULL,
    opened_at timestamptz NOT NULL,
    subject text NOT NULL
);
CREATE TABLE outbox (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL);
CREATE TABLE stock (
    sku bigint PRIMARY KEY,
    state text NOT NULL,
    touched timestamptz NOT NULL,
    label text NOT NULL
);

CREATE TABLE authors (id bigint PRIMARY KEY, name text NOT NULL);
CREATE TABLE articles (
    id bigint PRIMARY KEY,
    section int NOT NULL,
    author bigint NOT NULL REFERENCES authors,
    published_at timestamptz NOT NULL,
    title text NOT NULL,
    body text NOT NULL
);

CREATE TABLE options (id bigint PRIMARY KEY, tenant int NOT NULL, name text NOT NULL);
CREATE TABLE order_lines (id bigint PRIMARY KEY, product int NOT NULL, amount bigint NOT NULL);

CREATE TABLE lists (id bigint PRIMARY KEY, name text NOT NULL);
CREATE TABLE notes (
    id bigint PRIMARY KEY,
    list bigint NOT NULL REFERENCES lists ON DELETE CASCADE,
    title text NOT NULL,
    body text NOT NULL
);
CREATE TABLE documents (id bigint PRIMARY KEY, title text NOT NULL, changes int NOT NULL, body text NOT NULL);

CREATE TABLE sold (event int NOT NULL, slot int NOT NULL, tickets bigint NOT NULL, PRIMARY KEY (event, slot));
CREATE TABLE sales (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, event int NOT NULL, seat int NOT NULL);

-- Stands for a statement that waits for another server, as through a foreign data wrapper. Takes no CPU time.
CREATE FUNCTION ask_elsewhere(seconds float8) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_sleep(seconds);
    RETURN 3;
END
$$;

-- The lines of the bank. None is worth keeping after a crash, so taking one waits for no disk.
CREATE UNLOGGED TABLE bank_lines (id bigint PRIMARY KEY, taken_until timestamptz NOT NULL);
CREATE TABLE todos (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    member bigint NOT NULL,
    text text NOT NULL
);

CREATE TABLE customers (id bigint PRIMARY KEY, email text NOT NULL, name text NOT NULL);
-- Loaded in bulk, so without a foreign key.
CREATE TABLE parcels (
    id bigint PRIMARY KEY,
    customer bigint NOT NULL,
    state text NOT NULL,
    code text NOT NULL,
    route int NOT NULL,
    weight int NOT NULL
);

CREATE TABLE accounts (id bigint PRIMARY KEY, balance bigint NOT NULL);
CREATE TABLE entries (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account bigint NOT NULL REFERENCES accounts,
    amount bigint NOT NULL
);
CREATE TABLE mails (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL);
CREATE TABLE reports (id bigint PRIMARY KEY, title text NOT NULL, state text NOT NULL, data jsonb NOT NULL);
CREATE TABLE feed (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text NOT NULL);

CREATE TABLE shelves (id bigint PRIMARY KEY, items bigint NOT NULL);
CREATE TABLE placements (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shelf bigint NOT NULL,
    label text NOT NULL
);
-- Counts all rows of a statement at once. The other function, for one row, is that of a defect.
CREATE FUNCTION count_placements() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE shelves SET items = items + a.count
        FROM (SELECT shelf, count(*) FROM added GROUP BY shelf) a WHERE shelves.id = a.shelf;
    RETURN NULL;
END
$$;
CREATE FUNCTION count_placement() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE shelves SET items = items + 1 WHERE id = NEW.shelf;
    RETURN NULL;
END
$$;
CREATE TRIGGER placements_counted AFTER INSERT ON placements
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_placements();

CREATE TABLE members (id bigint PRIMARY KEY, email text NOT NULL, name text NOT NULL, seen_at timestamptz);
CREATE TABLE tokens (member bigint PRIMARY KEY, used_at timestamptz);
CREATE TABLE messages (id bigint PRIMARY KEY, mailbox int NOT NULL, title text NOT NULL);
CREATE TABLE invoices (id bigint PRIMARY KEY, name text NOT NULL);
CREATE TABLE invoice_lines (id bigint PRIMARY KEY, invoice bigint NOT NULL REFERENCES invoices, label text NOT NULL);
CREATE TABLE payments (id bigint PRIMARY KEY, invoice bigint NOT NULL REFERENCES invoices, label text NOT NULL);
CREATE TABLE purchases (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    product int NOT NULL,
    amount bigint NOT NULL
);
CREATE MATERIALIZED VIEW best_sellers AS
    SELECT product, sum(amount)::bigint AS total FROM purchases GROUP BY product WITH NO DATA;

CREATE TABLE categories (id bigint PRIMARY KEY, parent bigint, name text NOT NULL);
CREATE TABLE goods (id bigint PRIMARY KEY, category bigint NOT NULL REFERENCES categories, data jsonb NOT NULL);
CREATE TABLE price_lines (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    product int NOT NULL,
    cents int NOT NULL
);
CREATE TABLE audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL,
    actor text NOT NULL,
    route text NOT NULL,
    item text NOT NULL,
    address text NOT NULL,
    agent text NOT NULL,
    trace text NOT NULL,
    outcome text NOT NULL
);
CREATE TABLE tills (id bigint PRIMARY KEY, cents bigint NOT NULL);
CREATE TABLE cards (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, member bigint NOT NULL);
CREATE TABLE vouchers (code bigint PRIMARY KEY, cents int NOT NULL, is_used boolean NOT NULL);

CREATE TABLE letters (id bigint PRIMARY KEY, member bigint NOT NULL, title text NOT NULL, body text NOT NULL);
-- The member for whom a transaction reads, as rules of access to rows ask for it.
CREATE FUNCTION current_member() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN nullif(current_setting('shop.member', true), '')::bigint;
END
$$;
CREATE SEQUENCE bill_numbers;
CREATE TABLE bills (number bigint PRIMARY KEY, member bigint NOT NULL);
CREATE TABLE bill_lines (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    bill bigint NOT NULL,
    label text NOT NULL
);
CREATE TABLE wallets (id bigint PRIMARY KEY, cents bigint NOT NULL, currency text);

CREATE TABLE refunds (id bigint PRIMARY KEY, state text NOT NULL, note text NOT NULL);
CREATE TABLE scans (id bigint PRIMARY KEY, minute int NOT NULL, text text NOT NULL);
CREATE TABLE meters (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE readings (id bigint PRIMARY KEY, meter int NOT NULL, amount int NOT NULL, note text NOT NULL);
CREATE TABLE receipts (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, code text NOT NULL);
CREATE TABLE exchanges (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, member bigint NOT NULL);
CREATE TABLE supplies (sku bigint PRIMARY KEY, supplier int NOT NULL, cents int NOT NULL, label text NOT NULL);
CREATE TABLE signups (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, member bigint NOT NULL);

CREATE TABLE trips (id bigint PRIMARY KEY, driver int NOT NULL, minute int NOT NULL, note text NOT NULL);
CREATE TABLE fares (route int PRIMARY KEY, cents int NOT NULL, label text NOT NULL);
CREATE TABLE surveys (id bigint PRIMARY KEY, answers bigint NOT NULL, data jsonb NOT NULL);

CREATE TABLE notices (id bigint PRIMARY KEY, tenant int NOT NULL, seen boolean NOT NULL, title text NOT NULL);
CREATE TABLE takings (id bigint PRIMARY KEY, branch int NOT NULL, day int NOT NULL, cents int NOT NULL);
CREATE TABLE daily_takings (branch int NOT NULL, day int NOT NULL, cents bigint NOT NULL, PRIMARY KEY (branch, day));
CREATE TABLE songs (id bigint PRIMARY KEY, playlist int NOT NULL, place int NOT NULL);
CREATE TABLE complaints (id bigint PRIMARY KEY, branch int NOT NULL, text text NOT NULL);
CREATE TABLE answers (id bigint PRIMARY KEY, complaint bigint, text text NOT NULL);

CREATE TABLE register_lines (id bigint PRIMARY KEY, book int NOT NULL, text text NOT NULL);
CREATE TABLE districts (id int PRIMARY KEY, issued bigint NOT NULL);
CREATE TABLE permits (district int NOT NULL, number bigint NOT NULL, PRIMARY KEY (district, number));
CREATE TABLE recipes (id bigint PRIMARY KEY, title text NOT NULL, tags text[] NOT NULL);
CREATE TABLE passbook (id bigint PRIMARY KEY, account int NOT NULL, card text NOT NULL, cents int NOT NULL);
CREATE VIEW passbook_lines AS
    SELECT id, account, card, cents, sum(cents) OVER (PARTITION BY account ORDER BY id) AS balance FROM passbook;
CREATE TABLE ballots (id bigint PRIMARY KEY, proposal bigint NOT NULL);
CREATE TABLE proposals (id bigint PRIMARY KEY, poll int NOT NULL, title text NOT NULL, votes bigint NOT NULL);
