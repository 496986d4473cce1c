-- Who is told when a task begins to fail, and when it works again.
ALTER TABLE organizations
    ADD COLUMN notify_on_failure boolean NOT NULL DEFAULT true,
    ADD COLUMN notify_on_recovery boolean NOT NULL DEFAULT true,
    ADD COLUMN notification_webhook_url varchar(255);
