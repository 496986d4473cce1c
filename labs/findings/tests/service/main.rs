//! Each defect of the shop is there, and its healthy twin does not have it.
//!
//! Starts PostgreSQL and Redis on free ports. Needs the feature `store-tests`; without it the tests are listed as ignored.
//! Defects of SQLite are tested beside `views`, `bookings`, `ranks`, `atlas`, `loans`, `albums` and `streets`, the page
//! of their connections in `sqlite`.
//! Does not use the load generator and none of its rules.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of a test fails the test")]

mod arrivals;
mod bank;
mod baskets;
mod bills;
mod clients;
mod couriers;
mod favourites;
mod fixture;
mod gate;
mod goods;
mod imports;
mod jobs;
mod leaflets;
mod letters;
mod levels;
mod members;
mod menus;
mod news;
mod notes;
mod notices;
mod office;
mod parcels;
mod partner;
mod parts;
mod playlists;
mod polls;
mod receipts;
mod recipes;
mod recordings;
mod refunds;
mod registers;
mod sales;
mod servers;
mod sheets;
mod sqlite;
mod stores;
mod surveys;
mod tallies;
mod tills;
mod timelines;
mod todos;
mod trips;
mod visitors;
mod wishes;
