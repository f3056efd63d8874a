// Package management has what a deployment of Flagstaff consists of besides
// flags: organizations, their projects and keys, and what they use.
//
// It defines the interfaces of stores. Package memstore implements them in
// memory, package sqlstore on SQLite and PostgreSQL; package storetest is the
// contract that all of them keep, as tests.
//
//	created, err := management.Bootstrap(ctx, store, management.First{})
//
// prepares an empty store. Package quota counts usage against limits.
package management
