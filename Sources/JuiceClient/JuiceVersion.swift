/// The version of Juice Maker.
package enum JuiceVersion {
    /// The same as in CHANGELOG.md.
    package static let current = "0.1.0"
}
