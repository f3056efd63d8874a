// Package postgrestest gives tests PostgreSQL databases of their own.
//
// If FLAGSTAFF_TEST_POSTGRES is set to the connection URL of a server that
// allows creating databases, they are created there. Otherwise a private server
// is started from the installed PostgreSQL, in a temporary folder and on a Unix
// socket. If there is no PostgreSQL either, the test is skipped, or fails if CI is
// set.
//
// All tests of a package share the private server, which ends with them:
//
//	func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }
package postgrestest
