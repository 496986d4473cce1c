CREATE TABLE organizations (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    tier text NOT NULL DEFAULT 'free' CHECK (tier IN ('free', 'pro')),
    webhook_secret text NOT NULL,
    monthly_execution_count int NOT NULL DEFAULT 0,
    monthly_execution_reset_at timestamptz NOT NULL DEFAULT now(),
    inserted_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE api_keys (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name text NOT NULL,
    key_id text NOT NULL UNIQUE,
    -- SHA-256 of the secret, in hex: the secret is random, so nothing slower is needed.
    key_hash text NOT NULL,
    last_used_at timestamptz,
    inserted_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX api_keys_organization_id_index ON api_keys (organization_id);

-- As published: partitioned by a column that may be null, so that there can be no primary key.
CREATE TABLE tasks (
    id uuid NOT NULL,
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    name varchar(255) NOT NULL,
    url varchar(255) NOT NULL,
    method varchar(255) NOT NULL DEFAULT 'GET',
    headers jsonb NOT NULL DEFAULT '{}',
    body text,
    schedule_type varchar(255) NOT NULL,
    cron_expression varchar(255),
    scheduled_at timestamptz,
    enabled boolean NOT NULL DEFAULT true,
    retry_attempts int NOT NULL DEFAULT 3,
    timeout_ms int NOT NULL DEFAULT 30000,
    next_run_at timestamptz,
    muted boolean NOT NULL DEFAULT false,
    callback_url varchar(255),
    expected_status_codes text,
    expected_body_pattern text,
    queue varchar(255),
    last_execution_at timestamptz,
    inserted_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CHECK (schedule_type = 'cron' AND cron_expression IS NOT NULL OR schedule_type = 'once' AND scheduled_at IS NOT NULL)
) PARTITION BY RANGE (scheduled_at);
CREATE TABLE tasks_default PARTITION OF tasks DEFAULT;
-- What the scheduler looks for.
CREATE INDEX tasks_next_run_at_index ON tasks_default (next_run_at) WHERE enabled AND next_run_at IS NOT NULL;
CREATE INDEX tasks_organization_id_queue_index ON tasks_default (organization_id, queue) WHERE queue IS NOT NULL;

CREATE TABLE executions (
    id uuid NOT NULL,
    task_id uuid NOT NULL,
    scheduled_for timestamptz NOT NULL,
    started_at timestamptz,
    finished_at timestamptz,
    -- Which node has it.
    node bigint,
    -- How often it was claimed: a result with another number than the row's is one of a worker that lost it.
    claim int NOT NULL DEFAULT 0,
    attempt int NOT NULL DEFAULT 1,
    status_code int,
    duration_ms int,
    status text NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'running', 'success', 'failed', 'timeout', 'missed')),
    -- Organization and queue, of an execution that waits for others of the same queue.
    lane text,
    response_body text,
    error_message text,
    inserted_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (id, scheduled_for)
) PARTITION BY RANGE (scheduled_for);
CREATE TABLE executions_default PARTITION OF executions DEFAULT;
CREATE INDEX executions_task_id_scheduled_for_index ON executions_default (task_id, scheduled_for);
CREATE INDEX executions_due_index ON executions_default (scheduled_for) WHERE status = 'pending' AND lane IS NULL;
CREATE INDEX executions_lane_index ON executions_default (lane, scheduled_for)
    WHERE lane IS NOT NULL AND status IN ('pending', 'running');
CREATE INDEX executions_running_index ON executions_default (node) WHERE status = 'running';
-- Rows come by the thousand a second; the statistics have to follow.
ALTER TABLE tasks_default SET (autovacuum_vacuum_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05);
ALTER TABLE executions_default SET (autovacuum_vacuum_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05);

CREATE TABLE idempotency_keys (
    organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
    key text NOT NULL,
    -- SHA-256 of method, path and body of the request.
    request bytea NOT NULL,
    status_code int NOT NULL,
    response_body text NOT NULL,
    inserted_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, key)
);

CREATE TABLE nodes (
    id bigint PRIMARY KEY,
    started_at timestamptz NOT NULL DEFAULT now(),
    beat_at timestamptz NOT NULL DEFAULT now()
);
