// Package golangci is a plugin of golangci-lint, for its module plugin system. A program
// golangci-lint with it is built by golangci-lint custom, from .custom-gcl.yml:
//
//	version: v2.5.0
//	plugins:
//	  - module: github.com/flagstaff-go/flagstaff/vet
//	    import: github.com/flagstaff-go/flagstaff/vet/golangci
//	    version: v0.1.0
//
// It is switched on in .golangci.yml, with the file of a configuration (see package vet),
// or with the file of the definitions alone:
//
//	linters:
//	  enable: [flagstaff]
//	  settings:
//	    custom:
//	      flagstaff:
//	        type: module
//	        settings:
//	          config: .flagstaff-vet.yaml
package golangci
