// Package imports proves that a flag of another product keeps every user's value when it is
// imported: a package of it for each product evaluates random flags for random users with the
// product's own Go library and with Flagstaff, and wants no difference.
//
//	go test ./...                        # some cases of each
//	FLAGSTAFF_TEST_FULL=1 go test ./...  # a million pairs of flag and user of each
//	go test -run - -bench Imported .     # the time that each takes, beside flags made here
package imports
