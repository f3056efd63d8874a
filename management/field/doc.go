// Package field has tables that describe the attributes of a kind of thing.
//
// A [Table] has a [Row] for each attribute. It is made for one thing and one patch:
//
//	table := field.Table{
//		field.Plain("name", &patch.Name, &project.Name, check.Name),
//		field.Logged("updated_by", project.UpdatedBy),
//	}
//
// [Table.Check] checks what was sent, in the order of the rows, [Table.Apply] gives
// it to the thing, and [Differences] says what has changed between two tables of one
// thing, for the activity log (management.md §11.7). A Table is not safe for
// concurrent use.
package field
