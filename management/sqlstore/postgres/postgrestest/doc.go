// Package postgrestest gives tests a PostgreSQL database of their own.
//
// If FLAGSTAFF_TEST_POSTGRES is set, to the connection URL of a server on which
// databases may be created, they are created there. Otherwise a private server
// is started from the PostgreSQL that is installed, in a temporary folder and on
// a Unix socket, and stopped when the test ends. Without either the test is
// skipped, except where CI is set: there it fails.
package postgrestest
