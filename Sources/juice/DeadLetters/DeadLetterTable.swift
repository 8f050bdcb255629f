import Foundation
import JuiceMessages
import Kafka

/// Formats dead letters for people.
enum DeadLetterTable {
    private static var columns: [Table.Column] {
        [
            .init(title: "position"), .init(title: "when", width: 19), .init(title: "store", width: 8),
            .init(title: "code", width: 10), .init(title: "source", width: 18), .init(title: "resent"),
            .init(title: "value", width: 24), .init(title: "message"),
        ]
    }

    /// A line with the titles, and one for each dead letter.
    static func lines(_ letters: [DeadLetter], resent: Set<LetterPosition>, paint: Paint) -> [String] {
        var table = Table(columns)
        for letter in letters { table.add(cells(letter, isResent: resent.contains(letter.position))) }
        return table.lines(paint: paint)
    }

    private static func cells(_ letter: DeadLetter, isResent: Bool) -> [Table.Cell] {
        [
            .init(letter.position.text, .bold), .init(letter.timestamp.map(DateTime.text) ?? "-", .faint),
            .init(DisplayWidth.clip(letter.store.printable, to: 24)), .init(letter.code.printable, .red),
            .init(letter.source.text.printable), isResent ? .init("yes", .green) : .init("no"),
            .init(beginning(of: letter.value)), .init(letter.message.printable),
        ]
    }

    /// The start of a value, as much as fits into a table.
    static func beginning(of value: [UInt8]?) -> String {
        guard let value else { return "-" }
        // The cut may split a character, so it leaves more text than is shown.
        let text = value.count > 400 ? String(decoding: value.prefix(400), as: UTF8.self) : nil
        if let whole = text ?? String(validating: value, as: UTF8.self) { return DisplayWidth.clip(whole.printable, to: 40) }
        let digits = value.prefix(13).map(HexDump.digits).joined(separator: " ")
        return value.count > 13 ? digits + " …" : digits
    }

    /// One dead letter in full.
    static func sheet(_ letter: DeadLetter, isResent: Bool, paint: Paint) -> String {
        var rows = [
            ("position", letter.position.text), ("when", letter.timestamp.map(DateTime.text) ?? "-"),
            ("code", letter.code), ("message", letter.message), ("source", letter.source.text),
            ("resent", isResent ? "yes" : "no"), ("key", letter.key.map(text) ?? "none: the store main"),
        ]
        if let size = letter.truncatedFrom { rows.append(("cut", "from \(size) bytes")) }
        for header in letter.sendersHeaders { rows.append(("header", "\(header.name): \(header.value.map(text) ?? "null")")) }
        rows.append(("value", letter.value.map { "\($0.count) bytes" } ?? "none"))
        let lines = rows.map { name, value in paint(.faint, DisplayWidth.pad(name, to: 8)) + "  " + value.printable }
        return lines.joined(separator: "\n") + "\n" + body(letter.value ?? [])
    }

    private static func text(_ bytes: [UInt8]) -> String {
        String(validating: bytes, as: UTF8.self) ?? bytes.map(HexDump.digits).joined(separator: " ")
    }

    /// Text without terminal control characters, or a hex dump if it is not UTF-8.
    private static func body(_ value: [UInt8]) -> String {
        guard !value.isEmpty else { return "" }
        guard let text = String(validating: value, as: UTF8.self) else {
            return "\n" + HexDump.lines(value).joined(separator: "\n") + "\n"
        }
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        return "\n" + lines.map { String($0).printable }.joined(separator: "\n") + "\n"
    }
}

/// The local date and time, as `2026-01-31 12:34:56`.
enum DateTime {
    static func text(milliseconds: Int64) -> String {
        ClockTime.of(secondsSince1970: Int(milliseconds / 1000), format: "%F %T")
    }
}
