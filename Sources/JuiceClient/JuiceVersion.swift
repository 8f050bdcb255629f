/// Which version of Juice Maker this is.
package enum JuiceVersion {
    /// As CHANGELOG.md has it.
    package static let current = "0.1.0"
}
