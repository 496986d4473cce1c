CREATE TABLE tickets (
    id varchar(255) PRIMARY KEY,
    name varchar(255) NOT NULL,
    stock int NOT NULL
);
CREATE TABLE orders (
    id text PRIMARY KEY DEFAULT gen_random_uuid()::text,
    key varchar(200),
    state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'paid', 'released')),
    expires_at timestamptz NOT NULL
);
CREATE INDEX idx_orders_on_key ON orders (key) WHERE key IS NOT NULL;
CREATE INDEX idx_orders_open ON orders (expires_at) WHERE state = 'open';
CREATE TABLE ticket_units (
    id serial PRIMARY KEY,
    ticket_id varchar(255) NOT NULL REFERENCES tickets (id),
    reserved boolean NOT NULL DEFAULT false,
    -- Set only for units that an order holds; /pg-reserve-ticket sells without an order.
    order_id text REFERENCES orders (id) CHECK (reserved OR order_id IS NULL)
);
CREATE INDEX idx_ticket_units_on_order_id ON ticket_units (order_id) WHERE order_id IS NOT NULL;
CREATE TABLE idempotency_keys (
    key varchar(200) PRIMARY KEY,
    request text NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX idx_idempotency_keys_on_made_at ON idempotency_keys (made_at);
-- Stock sold from Redis: the initial number, and how many sales are recorded. The check prevents overselling, whatever a
-- counter in Redis says. Half-empty pages keep new versions of these hot rows on the same page.
CREATE TABLE counters (
    ticket_id varchar(255) PRIMARY KEY REFERENCES tickets (id),
    stock int NOT NULL,
    sold int NOT NULL DEFAULT 0 CHECK (sold BETWEEN 0 AND stock)
) WITH (fillfactor = 50);
-- Tickets sold from Redis, one row per order line. Rows of a released order no longer count. The ticket has no foreign key,
-- which would cost a lookup per row: its row in counters is changed in the same transaction.
CREATE TABLE sales (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ticket_id varchar(255) NOT NULL,
    count int NOT NULL CHECK (count > 0),
    order_id text REFERENCES orders (id),
    sold_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX idx_sales_on_order_id ON sales (order_id) WHERE order_id IS NOT NULL;
-- Number of the current rebuild of the counters in Redis; see sales_record.rs.
CREATE TABLE stock_epoch (epoch bigint NOT NULL);
INSERT INTO stock_epoch VALUES (0);
