-- Rows of the shop. The same rows in every seed.
INSERT INTO jobs SELECT n, CASE WHEN n % 120 = 0 THEN 'ready' ELSE 'done' END,
    timestamptz '2025-01-01' + n * interval '1 second', repeat('work ' || n || ' ', 20)
    FROM generate_series(1, 60000) n;
INSERT INTO cases SELECT n, CASE WHEN n % 3 = 0 THEN 'open' ELSE 'closed' END, n % 5,
    timestamptz '2025-01-01' + (n * 7919 % 60000) * interval '1 second', repeat('subject ' || n || ' ', 8)
    FROM generate_series(1, 60000) n;
INSERT INTO outbox (body) SELECT 'mail ' || n FROM generate_series(1, 1000) n;
INSERT INTO stock SELECT n, (ARRAY['here', 'ordered', 'reserved', 'gone'])[1 + n % 4], timestamptz '2025-01-01',
    repeat('label ' || n || ' ', 6) FROM generate_series(1, 2000) n;
INSERT INTO authors SELECT n, 'Author ' || n FROM generate_series(1, 2000) n;
INSERT INTO articles SELECT n, n % 200, 1 + n % 2000, timestamptz '2025-01-01' + n * interval '1 minute',
    'word' || (n * 7919 % 12000) || ' and word' || (n * 10007 % 12000), repeat('text ' || n || ' ', 40)
    FROM generate_series(1, 60000) n;
INSERT INTO options SELECT n, n % 200, 'Option ' || md5(n::text) FROM generate_series(1, 60000) n;
INSERT INTO order_lines SELECT n, n * 7919 % 5000, n % 90 FROM generate_series(1, 200000) n;
INSERT INTO lists SELECT n, 'List ' || n FROM generate_series(1, 20000) n;
INSERT INTO notes SELECT n, 1 + n % 20000, 'Note ' || n, repeat('line ' || n || ' ', 25)
    FROM generate_series(1, 60000) n;
INSERT INTO documents SELECT n, 'Document ' || n, 0, repeat(md5(n::text) || ' ', 2000)
    FROM generate_series(1, 500) n;
INSERT INTO sold SELECT event, slot, 0 FROM generate_series(1, 4) event, generate_series(0, 63) slot;
INSERT INTO bank_lines SELECT n, timestamptz '-infinity' FROM generate_series(1, 2) n;
INSERT INTO todos (member, text) SELECT 1 + n % 2000, 'Todo ' || n FROM generate_series(1, 20000) n;
INSERT INTO customers SELECT n, 'customer' || n || '@shop.test', 'Customer ' || n FROM generate_series(1, 2000) n;
INSERT INTO parcels SELECT n, 1 + n % 2000, CASE WHEN n <= 20000 THEN 'delivered' ELSE 'waiting' END,
    'P' || lpad(n::text, 6, '0'), (n - 1) / 3000, n % 900 FROM generate_series(1, 60000) n;
INSERT INTO accounts SELECT n, 0 FROM generate_series(1, 100) n;
INSERT INTO mails (body) SELECT 'mail ' || n FROM generate_series(1, 1000) n;
INSERT INTO reports SELECT n, 'Report ' || n, 'open', jsonb_build_object('title', 'Report ' || n, 'state', 'open',
    'lines', (SELECT jsonb_agg('line ' || line || ' of the report, with a sum of ' || n * line) FROM generate_series(1, 3000) line))
    FROM generate_series(1, 200) n;
INSERT INTO shelves SELECT n, 0 FROM generate_series(1, 2000) n;
INSERT INTO members SELECT n, 'Member' || n || '@Shop.test', 'Member ' || n FROM generate_series(1, 60000) n;
INSERT INTO tokens SELECT n FROM generate_series(1, 60000) n;
-- A mailbox of the first ones gets no message any more: its newest ones are old.
INSERT INTO messages SELECT n, (n - 1) / 5000, 'Message ' || n FROM generate_series(1, 200000) n;
INSERT INTO invoices SELECT n, 'Invoice ' || n FROM generate_series(1, 500) n;
INSERT INTO invoice_lines SELECT n, 1 + n % 500, 'line ' || n || ' of an invoice, as it is printed'
    FROM generate_series(1, 40000) n;
INSERT INTO payments SELECT n, 1 + n % 500, 'payment ' || n || ' by a card that is known'
    FROM generate_series(1, 40000) n;
INSERT INTO purchases (product, amount) SELECT n * 7919 % 5000, n % 90 FROM generate_series(1, 150000) n;
REFRESH MATERIALIZED VIEW best_sellers;
-- A tree in which each category has ten others, down to 10,000 that have goods.
INSERT INTO categories SELECT n, CASE WHEN n > 1 THEN (n - 2) / 10 + 1 END, 'Category ' || n
    FROM generate_series(1, 11111) n;
INSERT INTO goods SELECT n, 1112 + n % 10000, jsonb_build_object('name', 'Good ' || n, 'maker', 'maker' || n % 4000,
    'colour', (ARRAY['red', 'green', 'blue'])[1 + n % 3], 'grams', n % 700, 'text', repeat('of use ', 5))
    FROM generate_series(1, 40000) n;
INSERT INTO audit (at, actor, route, item, address, agent, trace, outcome)
    SELECT timestamptz '2025-01-01' + n * interval '1 second', md5('actor' || n), md5('route' || n), md5('item' || n),
    md5('address' || n), md5('agent' || n), md5('trace' || n), 'done' FROM generate_series(1, 30000) n;
INSERT INTO tills SELECT n, n * 100 FROM generate_series(1, 100) n;
INSERT INTO vouchers SELECT n, 500, n % 4 = 0 FROM generate_series(1, 4000) n;
INSERT INTO letters SELECT n, 1 + n % 2000, 'Letter ' || n, repeat('line ' || n || ' ', 15)
    FROM generate_series(1, 20000) n;
INSERT INTO wallets SELECT n, 100000 FROM generate_series(1, 2000) n;
-- All refunds are paid but the last ones.
INSERT INTO refunds SELECT n, CASE WHEN n > 59960 THEN 'open' ELSE 'paid' END, repeat('note ' || n || ' ', 8)
    FROM generate_series(1, 60000) n;
INSERT INTO scans SELECT n, n / 4, repeat('at gate ' || n % 40 || ', ', 26) FROM generate_series(1, 60000) n;
INSERT INTO meters SELECT n, 'Meter ' || n FROM generate_series(1, 20) n;
INSERT INTO readings SELECT n, 1 + n % 20, n % 900, repeat('read ' || n || ' ', 8) FROM generate_series(1, 40000) n;
INSERT INTO receipts (code) SELECT md5(n::text) FROM generate_series(1, 300000) n;
INSERT INTO supplies SELECT n, (n - 1) / 800, 100 + n * 7919 % 4900, 'supply ' || n || ', in boxes of ten'
    FROM generate_series(1, 20000) n;
INSERT INTO trips SELECT n, n * 7919 % 1000, n, repeat('by road ' || n % 50 || ', ', 10) FROM generate_series(1, 40000) n;
INSERT INTO fares SELECT n, 100 + n * 79 % 4900, 'fare ' || n FROM generate_series(1, 60000) n;
INSERT INTO surveys SELECT n, 0, jsonb_build_object('title', 'Survey ' || n, 'questions',
    (SELECT jsonb_agg('question ' || line || ' of the survey, about ' || md5((n * line)::text)) FROM generate_series(1, 2000) line))
    FROM generate_series(1, 100) n;
INSERT INTO notices SELECT n, n % 4, n % 3 = 0, 'Notice ' || n FROM generate_series(1, 120000) n;
INSERT INTO takings SELECT n, n % 6, n / 6 % 30, n * 7919 % 4900 FROM generate_series(1, 120000) n;
INSERT INTO daily_takings SELECT branch, day, sum(cents) FROM takings GROUP BY branch, day;
INSERT INTO songs SELECT n, (n - 1) / 80, (n - 1) % 80 FROM generate_series(1, 120000) n;
INSERT INTO complaints SELECT n, n % 1000, 'complaint ' || n FROM generate_series(1, 60000) n;
-- Of the 60 complaints of a branch, five have no answer.
INSERT INTO answers SELECT n, n, repeat('we are sorry, ', 4) FROM generate_series(1, 60000) n WHERE n / 1000 % 12 <> 0;
INSERT INTO register_lines SELECT n, n % 60, 'line ' || n || ' of the register' FROM generate_series(1, 18000) n;
INSERT INTO districts SELECT n, 0 FROM generate_series(1, 500) n;
-- Each tag is that of 60 recipes.
INSERT INTO recipes SELECT n, 'Recipe ' || n, ARRAY['tag' || n % 1000, 'tag' || (n * 7 + 3) % 1000]
    FROM generate_series(1, 30000) n;
INSERT INTO passbook SELECT n, n % 200, 'card ' || n % 200, n * 7919 % 9800 - 4900 FROM generate_series(1, 20000) n;
INSERT INTO ballots SELECT n, 1 + n * (n % 7 + 1) % 3000 FROM generate_series(1, 90000) n;
INSERT INTO proposals SELECT n, n % 6, 'Proposal ' || n, coalesce(votes, 0) FROM generate_series(1, 3000) n
    LEFT JOIN (SELECT proposal, count(*) AS votes FROM ballots GROUP BY proposal) counted ON proposal = n;
