// Package store is the single source of truth: sqlx over SQLite and PostgreSQL,
// the migrations, owners and leases. All SQL of the program lives here.
//
// It implements the small interfaces that router (and later agent and scheduler)
// declare, one type a consumer over one database handle. Nobody imports it but
// cmd and tests.
package store
