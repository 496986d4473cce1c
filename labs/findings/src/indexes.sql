-- Indexes of the healthy service, made after the rows.
CREATE INDEX jobs_due ON jobs (run_at) WHERE state = 'ready';
CREATE INDEX cases_next ON cases (state, priority DESC, opened_at);
CREATE INDEX stock_touched ON stock (touched);
CREATE INDEX articles_section ON articles (section, published_at DESC);
CREATE INDEX articles_words ON articles USING gin (to_tsvector('simple', title));
CREATE INDEX options_tenant ON options (tenant, name);
CREATE INDEX options_name ON options USING gin (name gin_trgm_ops);
CREATE INDEX notes_list ON notes (list);
CREATE INDEX customers_email ON customers (email);
CREATE INDEX parcels_customer ON parcels (customer);
CREATE INDEX parcels_state ON parcels (state);
CREATE INDEX parcels_code ON parcels (code);
CREATE INDEX parcels_route ON parcels (route);
CREATE INDEX entries_account ON entries (account);
