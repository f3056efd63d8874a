// Flagstaff-vet checks the use of feature flags, for the go command:
//
//	go vet -vettool="$(which flagstaff-vet)" ./...
//
// It is configured by .flagstaff-vet.yaml in the working folder or above it, which names
// the file of the definitions; see package vet. In place of it, -flagstaff.config names a
// configuration and -flagstaff.flags a file of definitions. Their names are to be absolute,
// because the go command runs it in the folder of each package.
//
// The go command keeps what was found in a package until its code changes. It looks again
// when .flagstaff-vet.yaml or the definitions that this names have changed, but knows
// nothing of files in flags: after a change of these, go vet -a looks at everything again.
package main
