//! Saves all keys of a Redis server to a file, and loads them again.
//!
//! Uses the server's own serialization (DUMP and RESTORE), which works with every setting and leaves the server
//! running. Leaves functions and cached scripts unchanged. Does not empty a server.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use redis::{Cmd, Connection, Pipeline};

/// Keys that are asked for or sent at once.
const BATCH: usize = 500;

/// Errors while saving or loading.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error(transparent)]
    File(#[from] io::Error),
    #[error(transparent)]
    Server(#[from] redis::RedisError),
    #[error(transparent)]
    Answer(#[from] redis::ParsingError),
}

/// Writes every key of every database: its database, the milliseconds it has left (0 for ever), itself, its value.
pub(super) fn save(connection: &mut Connection, file: &Path) -> Result<(), Trouble> {
    let mut out = BufWriter::new(File::create(file)?);
    for database in databases(connection)? {
        redis::cmd("SELECT").arg(database).exec(connection)?;
        let mut cursor: u64 = 0;
        loop {
            let (next, keys): (u64, Vec<Vec<u8>>) =
                redis::cmd("SCAN").arg(cursor).arg("COUNT").arg(BATCH).query(connection)?;
            save_batch(connection, database, &keys, &mut out)?;
            cursor = next;
            if cursor == 0 {
                break;
            }
        }
    }
    Ok(out.flush()?)
}

fn save_batch(
    connection: &mut Connection,
    database: u32,
    keys: &[Vec<u8>],
    out: &mut impl Write,
) -> Result<(), Trouble> {
    if keys.is_empty() {
        return Ok(());
    }
    let mut pipeline = Pipeline::new();
    for key in keys {
        pipeline.add_command(command("DUMP", key)).add_command(command("PTTL", key));
    }
    let answers: Vec<redis::Value> = pipeline.query(connection)?;
    for (key, answer) in keys.iter().zip(answers.chunks(2)) {
        let [value, left] = answer else { continue };
        let value: Option<Vec<u8>> = redis::from_redis_value(value.clone())?;
        let left: i64 = redis::from_redis_value(left.clone())?;
        // A key can expire while it is read.
        let Some(value) = value else { continue };
        out.write_all(&database.to_le_bytes())?;
        out.write_all(&left.max(0).to_le_bytes())?;
        for bytes in [key, &value] {
            out.write_all(&(bytes.len() as u64).to_le_bytes())?;
            out.write_all(bytes)?;
        }
    }
    Ok(())
}

fn command(name: &str, key: &[u8]) -> Cmd {
    let mut command = redis::cmd(name);
    command.arg(key);
    command
}

/// The databases that have keys, from lines such as `db0:keys=1,expires=0` in the server's INFO.
fn databases(connection: &mut Connection) -> Result<Vec<u32>, Trouble> {
    let text: String = redis::cmd("INFO").arg("keyspace").query(connection)?;
    let number = |line: &str| line.strip_prefix("db")?.split_once(':')?.0.parse().ok();
    Ok(text.lines().filter_map(number).collect())
}

/// Puts the keys of a file into a server that is empty.
pub(super) fn load(connection: &mut Connection, file: &Path) -> Result<(), Trouble> {
    let mut from = BufReader::new(File::open(file)?);
    let mut pipeline = Pipeline::new();
    let mut current = None;
    while let Some(database) = number::<4>(&mut from)?.map(u32::from_le_bytes) {
        let left = i64::from_le_bytes(number(&mut from)?.unwrap_or_default());
        let (key, value) = (bytes(&mut from)?, bytes(&mut from)?);
        if current != Some(database) {
            pipeline.cmd("SELECT").arg(database).ignore();
            current = Some(database);
        }
        // A scan can return a key twice.
        pipeline.cmd("RESTORE").arg(key).arg(left).arg(value).arg("REPLACE").ignore();
        if pipeline.len() >= BATCH {
            pipeline.exec(connection)?;
            pipeline.clear();
        }
    }
    // The client refuses to send nothing.
    if !pipeline.is_empty() {
        pipeline.exec(connection)?;
    }
    Ok(())
}

/// The next bytes, or nothing at the end of the file.
fn number<const N: usize>(from: &mut impl Read) -> io::Result<Option<[u8; N]>> {
    let mut bytes = [0; N];
    match from.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

fn bytes(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let length = u64::from_le_bytes(number(from)?.unwrap_or_default());
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}
