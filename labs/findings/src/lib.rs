//! A small shop with one seeded defect per switch, on which the rules of `knee find` are tried.
//!
//! Does not depend on the load generator, and does not know its rules.

pub mod bank;
pub mod baskets;
pub mod bills;
pub mod bookings;
pub mod brochures;
pub mod cache;
pub mod config;
pub mod couriers;
pub mod database;
pub mod defect;
pub mod gate;
pub mod goods;
pub mod imports;
pub mod jobs;
pub mod leaflets;
pub mod letters;
pub mod levels;
pub mod log;
pub mod logins;
pub mod members;
pub mod menus;
pub mod news;
pub mod notes;
pub mod office;
pub mod parcels;
pub mod partner;
pub mod preferences;
pub mod prepare;
pub mod ranks;
pub mod refusal;
pub mod sales;
pub mod seed;
pub mod serve;
pub mod sheets;
pub mod shop;
pub mod tills;
pub mod todos;
pub mod views;
pub mod visitors;
pub mod web;
pub mod wishes;
