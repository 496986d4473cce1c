-- The board. A post's revision grows with every change of its rendered content, also by another program: rendered fragments are
-- cached under (id, revision). AUTOINCREMENT: an id is never reused, so neither is such a pair.
CREATE TABLE users (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    screen_name TEXT NOT NULL COLLATE NOCASE UNIQUE,
    password_digest TEXT NOT NULL,
    about TEXT NOT NULL DEFAULT '',
    last_seen_at INTEGER,
    posts_count INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE posts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES users (id),
    title TEXT NOT NULL UNIQUE CHECK (length(title) >= 5),
    description TEXT NOT NULL,
    published_at INTEGER NOT NULL,
    comments_count INTEGER NOT NULL DEFAULT 0,
    revision INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
-- Both indexes cover the keys of cached fragments, so that a list does not read a hundred texts.
CREATE INDEX posts_versions ON posts (id, revision);
CREATE INDEX posts_user_id ON posts (user_id, id, revision);

CREATE TABLE comments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    post_id INTEGER NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL REFERENCES users (id),
    body TEXT NOT NULL CHECK (length(body) >= 5),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX comments_post_id ON comments (post_id);
CREATE INDEX comments_user_id ON comments (user_id);

CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES users (id),
    user_agent TEXT NOT NULL,
    ip_address TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_user_id ON sessions (user_id);

CREATE TRIGGER post_changed AFTER UPDATE OF user_id, title, description, published_at, comments_count ON posts BEGIN
    UPDATE posts SET revision = revision + 1 WHERE id = NEW.id;
END;
CREATE TRIGGER comment_added AFTER INSERT ON comments BEGIN
    UPDATE posts SET revision = revision + 1 WHERE id = NEW.post_id;
END;
CREATE TRIGGER comment_changed AFTER UPDATE ON comments BEGIN
    UPDATE posts SET revision = revision + 1 WHERE id IN (OLD.post_id, NEW.post_id);
END;
CREATE TRIGGER comment_removed AFTER DELETE ON comments BEGIN
    UPDATE posts SET revision = revision + 1 WHERE id = OLD.post_id;
END;
CREATE TRIGGER user_renamed AFTER UPDATE OF screen_name ON users BEGIN
    UPDATE posts SET revision = revision + 1
    WHERE user_id = NEW.id OR id IN (SELECT post_id FROM comments WHERE user_id = NEW.id);
END;
