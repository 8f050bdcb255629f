import ArgumentParser
import Foundation
import JuiceMessages
import JuiceWeb

/// A kind of value: how text is parsed, and how help and errors describe it.
///
/// An option is declared once, in its command: `@Option("Workers in this process.", .count(in: 1...1000)) var workers = 1`. Its
/// name on the command line, in the environment and in the configuration file comes from the property: see ``Settings``.
struct OptionValue<Value: Sendable>: Sendable {
    /// What the help calls the value.
    let placeholder: String
    /// Completes "must be …".
    let expectation: String
    let parse: @Sendable (String) -> Value?
    /// Formats a value as a user would write it, for the default in the help.
    let text: @Sendable (Value) -> String

    init(
        _ placeholder: String, _ expectation: String, text: @escaping @Sendable (Value) -> String = { "\($0)" },
        parse: @escaping @Sendable (String) -> Value?
    ) {
        (self.placeholder, self.expectation, self.text, self.parse) = (placeholder, expectation, text, parse)
    }

    /// - Throws: an error that ArgumentParser appends to "The value 'x' is invalid for '--option <placeholder>'".
    func value(of text: String) throws(ValidationError) -> Value {
        guard let value = parse(text) else { throw ValidationError("it must be \(expectation)") }
        return value
    }

    /// Derived from the placeholder: `file`, or the words to choose from.
    fileprivate var completion: CompletionKind? {
        let words = placeholder.split(separator: "|").map(String.init)
        return placeholder == "file" ? .file() : words.count > 1 && !placeholder.contains("@") ? .list(words) : nil
    }
}

extension Option where Value: Sendable {
    /// An option with a default. Its help ends with the default: ``Settings`` reads it there.
    init(wrappedValue: Value, _ help: String, _ kind: OptionValue<Value>) {
        let help = ArgumentHelp("\(help) (default: \(kind.text(wrappedValue)))", valueName: kind.placeholder)
        self.init(wrappedValue: wrappedValue, help: help, completion: kind.completion) { try kind.value(of: $0) }
    }

    init<Given: Sendable>(_ help: String, _ kind: OptionValue<Given>) where Value == Given? {
        let help = ArgumentHelp(help, valueName: kind.placeholder)
        self.init(help: help, completion: kind.completion) { try kind.value(of: $0) }
    }
}

extension Flag where Value == Bool {
    /// A flag. If the environment or the configuration file sets it, `--no-…` unsets it.
    init(wrappedValue: Bool, _ help: String) {
        self.init(wrappedValue: wrappedValue, inversion: .prefixedNo, help: ArgumentHelp(help))
    }
}

// MARK: - Kinds of values

extension OptionValue where Value: RawRepresentable<String> & CaseIterable {
    static var word: Self {
        let words = Value.allCases.map(\.rawValue)
        return Self(words.joined(separator: "|"), "one of \(words.joined(separator: ", "))", text: \.rawValue) {
            Value(rawValue: $0.lowercased())
        }
    }
}

extension OptionValue<Int> {
    static func number(in range: ClosedRange<Int>, _ placeholder: String = "count") -> Self {
        let most = range.upperBound == .max ? "at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
        return Self(placeholder, "a whole number, \(most)") { Int($0).flatMap { range.contains($0) ? $0 : nil } }
    }
}

extension OptionValue<Duration> {
    static func duration(in range: ClosedRange<Duration>) -> Self {
        let bounds = "from \(DurationText.text(range.lowerBound)) to \(DurationText.text(range.upperBound))"
        return Self(
            "duration", "a duration \(bounds) with its units, such as \(DurationText.examples)", text: { DurationText.text($0) },
            parse: { DurationText.parse($0).flatMap { range.contains($0) ? $0 : nil } })
    }

    static var duplicateWindow: Self { duration(in: .zero ... .seconds(365 * 86_400)) }
}

extension OptionValue<String> {
    static func text(_ placeholder: String) -> Self { Self(placeholder, "a text") { $0 } }

    static var file: Self { .text("file") }

    static func text(_ placeholder: String, ofAtMost length: Int) -> Self {
        Self(placeholder, "1 to \(length) bytes long") { (1...length).contains($0.utf8.count) ? $0 : nil }
    }

    static var store: Self { .text("store", ofAtMost: StoreID.maximumLength) }

    static var commandID: Self { .text("id", ofAtMost: CommandKind.maximumIDLength) }

    /// The id of a command that is yet to be sent.
    static var newCommandID: Self {
        Self("id", "\(commandID.expectation), and not begin with \(CommandKind.kioskPrefix), as the kiosk's do") {
            $0.utf8.starts(with: CommandKind.kioskPrefix.utf8) ? nil : commandID.parse($0)
        }
    }

    static var time: Self { Self("time", TimeText.kinds) { TimeText.milliseconds($0) == nil ? nil : $0 } }

    /// Broker addresses in librdkafka's format, where a port is optional. librdkafka would change a port that is too large.
    static var brokers: Self {
        Self("host:port,…", "the addresses of brokers, such as kafka1:9092,kafka2:9092") { text in
            let address = /(?:[A-Za-z_]+:\/\/)?(?:[^\s:\[\]]+|\[[^\s\[\]]+\])(?::([0-9]+))?/
            let addresses = text.split(separator: ",", omittingEmptySubsequences: false).map { $0.wholeMatch(of: address) }
            return addresses.allSatisfy { $0.map { UInt16($0.1 ?? "9092") ?? 0 > 0 } ?? false } ? text : nil
        }
    }
}

extension CommandKind {
    /// The help of an option of the kind ``OptionValue/newCommandID``.
    var newIDHelp: String { "The \(self)'s id, of 1 to \(Self.maximumIDLength) bytes. Unless given, it is a new one." }
}

extension OptionValue<HTTPAddress> {
    static var address: Self { Self("host:port", "host:port, such as 127.0.0.1:8080") { HTTPAddress($0) } }
}
