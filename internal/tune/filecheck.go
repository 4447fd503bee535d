package tune

// CheckFile says whether a setting is one that a Plan takes: the error is the
// UsageError that Plan would end with.
func CheckFile(s FileSetting) error {
	f, err := fileOf(s.Attribute, s.Path)
	if err != nil {
		return err
	}
	_, err = f.canonical(s.Value)
	return err
}
