// Package management has what a deployment of Flagstaff consists of besides
// flags: users and their keys, organizations, their members and projects, and
// what they use.
//
// A [Service] does what the management API offers (management.md). Package server
// puts it behind HTTP; a program that embeds it calls its methods, which take a
// [Principal], who asks, and check what that may do:
//
//	service, err := management.New(management.Config{Store: store})
//	…
//	p, err := service.Authenticate(ctx, "phx_…", management.InHeader)
//	…
//	user, err := service.UpdateUser(ctx, p, "@me", management.UserPatch{
//		FirstName: management.Of("Ada"),
//	})
//
// A program with sessions of its own makes Principals by [Service.PrincipalOf],
// and signs users in by [Service.SignIn] and [Service.VerifySecondFactor].
//
// What somebody may not do, or gets wrong, is an [*Error], which can be shown to
// them. Each change is one transaction of the [Store], together with its entry in
// the activity log. Passwords and keys are stored as hashes; authenticators and
// backup codes are encrypted with Config.SecretKeys; neither is ever in an error,
// in a log or in the activity log.
//
// [Service.Run] sends mail, and deletes what deleted projects leave behind. Mail
// waits in memory: a process that is killed loses it, and whoever waits for a
// message asks for another.
//
// # Stores
//
// Package memstore implements [Store] in memory, package sqlstore on SQLite and
// PostgreSQL; package storetest is the contract that all of them keep, as tests.
//
//	created, err := management.Bootstrap(ctx, store, management.First{})
//
// makes a store usable: it creates what a first start needs, and an owner where
// there is no user. Package quota counts usage against limits, package mail sends
// mail.
package management
