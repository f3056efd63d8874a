//go:build libraries

package vet_test

// The programs in testdata import these libraries.
import (
	_ "github.com/open-feature/go-sdk/openfeature"
	_ "github.com/posthog/posthog-go"
)
