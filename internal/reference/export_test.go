package reference

// Tests of vectors call the hashing of section 2 without a document.

// HashText returns the hash of any text by the default algorithm.
func HashText(text string) float64 { return hashText("", text) }

// BucketHash returns the hash for rollouts (salt "") or variants (salt
// "variant").
func BucketHash(flagKey, subject, salt string) float64 {
	return (&flag{key: flagKey}).bucketHash(subject, salt)
}

// HoldoutHash returns the hash for holdouts.
func HoldoutHash(subject string) float64 { return (&flag{}).holdoutHash(subject) }

// InRollout reports whether a subject is inside the rollout of a condition.
func InRollout(flagKey, subject string, percentage float64) bool {
	return (&flag{key: flagKey}).inRollout(condition{rollout: percentage}, subject)
}

// HeldOut reports whether a subject is in a holdout.
func HeldOut(subject string, percentage float64) bool {
	return (&flag{holdout: &holdout{percentage: percentage}}).heldOut(subject)
}

// ChooseVariant draws a variant, or "" for none.
func ChooseVariant(flagKey, subject string, keys []string, shares []float64) string {
	f := &flag{key: flagKey}
	for i := range keys {
		f.variants = append(f.variants, variant{key: keys[i], share: shares[i]})
	}
	if chosen := f.chooseVariant(condition{}, subject); chosen != nil {
		return *chosen
	}
	return ""
}

// ValueText returns the text of a JSON value (str of §4.1).
func ValueText(value string) string { return valueText(decodeValue([]byte(value))) }

// Lower implements lower of §4.4.
func Lower(s string) string { return lower(s) }
