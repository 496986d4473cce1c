-- How many workers each tenant has, kept in the transaction that changes it: as exact as counting, and one row to read.
-- Writers of one tenant wait for each other's commit.
CREATE TABLE worker_counts (
    organization_id varchar(100) NOT NULL,
    business_unit_id varchar(100) NOT NULL,
    workers bigint NOT NULL,
    PRIMARY KEY (organization_id, business_unit_id)
);

CREATE FUNCTION workers_came() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO worker_counts AS kept (organization_id, business_unit_id, workers)
        SELECT organization_id, business_unit_id, count(*) FROM came GROUP BY 1, 2 ORDER BY 1, 2
        ON CONFLICT (organization_id, business_unit_id) DO UPDATE SET workers = kept.workers + excluded.workers;
    RETURN NULL;
END
$$;
CREATE FUNCTION workers_went() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO worker_counts AS kept (organization_id, business_unit_id, workers)
        SELECT organization_id, business_unit_id, -count(*) FROM went GROUP BY 1, 2 ORDER BY 1, 2
        ON CONFLICT (organization_id, business_unit_id) DO UPDATE SET workers = kept.workers + excluded.workers;
    RETURN NULL;
END
$$;
CREATE FUNCTION workers_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM worker_counts;
    RETURN NULL;
END
$$;
CREATE TRIGGER workers_came AFTER INSERT ON workers REFERENCING NEW TABLE AS came
    FOR EACH STATEMENT EXECUTE FUNCTION workers_came();
CREATE TRIGGER workers_went AFTER DELETE ON workers REFERENCING OLD TABLE AS went
    FOR EACH STATEMENT EXECUTE FUNCTION workers_went();
CREATE TRIGGER workers_moved_in AFTER UPDATE ON workers REFERENCING NEW TABLE AS came
    FOR EACH STATEMENT EXECUTE FUNCTION workers_came();
CREATE TRIGGER workers_moved_out AFTER UPDATE ON workers REFERENCING OLD TABLE AS went
    FOR EACH STATEMENT EXECUTE FUNCTION workers_went();
CREATE TRIGGER workers_gone AFTER TRUNCATE ON workers
    FOR EACH STATEMENT EXECUTE FUNCTION workers_gone();

INSERT INTO worker_counts SELECT organization_id, business_unit_id, count(*) FROM workers GROUP BY 1, 2;
