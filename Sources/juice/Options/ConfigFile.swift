import Foundation
import JuiceClient

/// The JSON file of settings: one object with members named like the options.
enum ConfigFile {
    /// Reads the file. Every value becomes text, as on the command line. Lists are joined with commas; for `kafka-property` a list
    /// or object becomes `name=value` lines.
    static func read(_ path: String) throws(Failure) -> [Setting: String] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Failure(.configuration, "the configuration file \(path) cannot be read")
        }
        guard let file = try? JSONDecoder().decode([String: JSON].self, from: data) else {
            throw Failure(.configuration, "the configuration file \(path) is not a JSON object")
        }
        var values: [Setting: String] = [:]
        for (key, value) in file.sorted(by: { $0.key < $1.key }) {
            guard let setting = Setting(rawValue: key) else {
                let names = Setting.allCases.map(\.rawValue)
                let question = NearestNames.question(NearestNames.of(key, among: names))
                throw Failure(.configuration, "\(path) sets \"\(key.printable)\", but there is no such setting\(question)")
            }
            guard let text = value.text(of: setting) else {
                throw .badSetting(setting, .file(path), "must be a text, a number, true or false")
            }
            values[setting] = text
        }
        return values
    }
}

/// A JSON value that a setting can have.
private enum JSON: Decodable {
    case text(String)
    case boolean(Bool)
    case integer(Int)
    case number(Double)
    case list([String])
    case object([String: String])
    case other

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([String].self) {
            self = .list(value)
        } else if let value = try? container.decode([String: String].self) {
            self = .object(value)
        } else {
            self = .other
        }
    }

    func text(of setting: Setting) -> String? {
        switch self {
        case .text(let text): text
        case .boolean(let value): String(value)
        case .integer(let value): String(value)
        case .number(let value): String(value)
        case .list(let lines) where setting == .kafkaProperty: lines.joined(separator: "\n")
        case .list(let items) where [.stores, .fruits, .hostNames].contains(setting): items.joined(separator: ",")
        case .object(let members) where setting == .kafkaProperty:
            members.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "\n")
        case .list, .object, .other: nil
        }
    }
}
