import JuiceMessages

extension Answer {
    /// The answer in a record, as the service writes it.
    init(json: String) throws {
        self = try Array(json.utf8).withUnsafeBytes { try AnswerDecoder().decode($0) }
    }
}
