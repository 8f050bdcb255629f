import ArgumentParser
import JuiceClient

extension Settings {
    /// The settings of a run with these options. Each option provides the setting of its name: `logLevel` is `--log-level`, and
    /// that is ``Setting/logLevel``.
    init(_ options: some ParsableArguments) throws(Failure) {
        let given = GivenOptions(options).texts
        // An unset variable in a script must not silently start an embedded broker.
        guard given[Setting.bootstrapServers.rawValue] != "" else { throw Failure(.usage, "--bootstrap-servers must not be empty") }
        let flags = given.compactMap { name, text in Setting(rawValue: name).map { ($0, text) } }
        try self.init(flags: Dictionary(uniqueKeysWithValues: flags), file: given["config"])
    }
}

/// The values of all optional options and flags on the command line, including those in option groups.
struct GivenOptions {
    /// By the option's name, such as `log-level`.
    private(set) var texts: [String: String] = [:]

    init(_ options: some ParsableArguments) { collect(options) }

    private mutating func collect(_ options: some ParsableArguments) {
        for (label, wrapper) in Mirror(reflecting: options).children {
            if let group = wrapper as? any GroupWrapper {
                collect(group.wrappedValue)
            } else if let label, let option = wrapper as? any OptionWrapper {
                texts[Self.name(of: label)] = option.wrappedValue.optionText
            }
        }
    }

    /// The option's name that ArgumentParser derives from a wrapped property's label: `log-level` from `_logLevel`.
    static func name(of label: String) -> String {
        label.dropFirst().reduce(into: "") { $0 += $1.isUppercase ? "-\($1.lowercased())" : "\($1)" }
    }
}

// What ArgumentParser's property wrappers have in common.

private protocol GroupWrapper {
    associatedtype Group: ParsableArguments
    var wrappedValue: Group { get }
}

private protocol OptionWrapper {
    associatedtype Value: OptionValue
    var wrappedValue: Value { get }
}

extension OptionGroup: GroupWrapper {}
extension Option: OptionWrapper where Value: OptionValue {}
extension Flag: OptionWrapper where Value: OptionValue {}

/// The value of an optional option.
private protocol OptionValue {
    /// The value as text; nil if the option was not given.
    var optionText: String? { get }
}

extension Optional: OptionValue where Wrapped: LosslessStringConvertible { var optionText: String? { self?.description } }

/// An option that can be repeated.
extension [String]: OptionValue { var optionText: String? { isEmpty ? nil : joined(separator: "\n") } }
