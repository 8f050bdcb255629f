/// Why the value of a record, or a menu file, is not what it should be.
public struct MalformedMessage: Error, Hashable, CustomStringConvertible {
    /// The path to the faulty part, such as `stock.kiwi`; empty when it is the value as a whole.
    public let path: String
    /// What is wrong there, in English.
    public let problem: String

    /// The path and the problem in English.
    public var description: String { path.isEmpty ? problem : "\(path): \(problem)" }

    init(_ path: String, _ problem: String) { (self.path, self.problem) = (path, problem) }
}
