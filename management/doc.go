// Package management has what a deployment of Flagstaff consists of besides
// flags: users and their keys, organizations, their members and projects, and
// what they use.
//
// A [Service] does what the management API offers (management.md). Package server
// puts it behind HTTP; a program that embeds it calls its methods, which take a
// [Principal], the caller, and check what it may do:
//
//	service, err := management.New(management.Config{Store: store})
//	…
//	p, err := service.Authenticate(ctx, "phx_…", "the Authorization header")
//	…
//	user, err := service.UpdateUser(ctx, p, "@me", management.UserPatch{
//		FirstName: optional.Of("Ada"),
//	})
//
// A program whose users sign in with a browser lets the Service keep their sessions:
//
//	opened, err := service.OpenSession(ctx, email, password, client)
//	if opened.Principal == nil {
//		opened, err = service.ConfirmSession(ctx, opened.Token, code, client)
//	}
//	… // the browser keeps opened.Token in a cookie
//	p, err := service.AuthenticateSession(ctx, token, client)
//
// [Service.NewSignInLink] is for the first user and for one who is locked out, and
// [Service.RequestPasswordReset] for one who has forgotten the password. A program with
// sessions of its own makes Principals by [Service.PrincipalOf], and signs users in by
// [Service.SignIn] and [Service.VerifySecondFactor]. A page of its own for invitations
// calls [Service.OpenInvitation] and [Service.AcceptInvitation].
//
// What somebody may not do, or gets wrong, is an [*Error], which can be shown to
// them. Each change is one transaction of the [storage.Store], together with its entry in
// the activity log, except for persons and groups: these are in a [storage.Data], where
// events put them, and a change is logged just before it is made, with the name of
// a property but never its value. Passwords and keys are stored as hashes;
// authenticators and backup codes are encrypted with Config.SecretKeys; neither is
// ever in an error, in a log or in the activity log.
//
// [Service.Run] sends mail, counts cohorts, indexes events, and deletes what deleted
// projects and persons leave behind. Mail waits in memory: a process that is killed loses it, and the user who
// waits for a message asks for another.
//
// Package surveys, a module of its own, lies on top of this one. It changes surveys in the units of work of a
// Service (see [UnitOfWork]), and flags look back at it by Config.FlagUsers alone.
//
// # Flags
//
// A [storage.Flag] is stored with its filters in a normal form: what somebody sends
// is judged by the rules of management.md §13.5 and then by the linter of package
// flags, so that what is stored compiles without errors, and means the same to each
// program that reads it. It is compact JSON without unknown or empty members, in
// which other flags are referred to by their IDs. Payloads are texts of JSON;
// payloads that are to be encrypted are so in storage only, and only
// [Service.RemoteConfig] and personal API keys read them. A flag that is deleted
// stays stored, and its key is free. What a flag or a cohort refers to is judged
// again when it comes back into force. The Store keeps every version of a flag, which
// [Service.FlagVersions] lists and [Service.RevertFlag] makes again.
//
// Nothing is compiled here to be served. [storage.FlagDefinitions] turns what is stored
// of a project into the document that [flags.Compile] takes; a program that serves
// flags, as package server/catalog does, calls it when it is told of a change: by
// [Catalog.Changed], which is called after the commit and before the answer, or from
// other processes by the [storage.Changes]. So who changes a flag and is answered gets
// the new value from the next request to that process.
//
// [Service.ExplainFlag], [Service.PreviewFlag], [Service.EvaluationReasons] and
// [Service.BlastRadius] evaluate flags for the users who manage them: they compile
// what is stored at that moment, with what Config.Data knows of persons, and change
// nothing.
//
// # Stores
//
// Package storage has what a store keeps and must do. Package sqlstore implements
// [storage.Store] and [storage.Data] on SQLite, in a file or in memory, and on
// PostgreSQL. Package sqlitetest beneath it gives tests a store.
//
//	created, err := management.Bootstrap(ctx, store, management.First{})
//
// makes a store usable: it creates what a first start needs, and an owner where
// there is no user. Package quota counts usage against limits, package mail sends
// mail.
package management
