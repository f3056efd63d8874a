// Package postgrestest gives tests a PostgreSQL database of their own.
//
// If FLAGSTAFF_TEST_POSTGRES is set to the connection URL of a server that
// allows creating databases, they are created there. Otherwise a private server
// is started from the installed PostgreSQL, in a temporary folder and on a Unix
// socket, and stopped when the test ends. If there is no PostgreSQL either, the
// test is skipped, or fails if CI is set.
package postgrestest
