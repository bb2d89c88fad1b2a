fn main(){ if std::env::args().count()>1 {return crd()}
 for t in ["a: 1\na: 2\n", "a: [1, 2\nb: 3", "a: \tb\n\tc: 3", "{\n\t\"a\": 1,\n\t\"b\": \"\\/x\\ud83d\\ude00\"\n}", "a: &x [1,2]\nb: *x\n", "v: 1.10\nw: 010\nx: yes\ny: 2024-01-01\nz: 0x10\ns: 12345678901234567890123", "---\n", "a: !foo 3", "%YAML 1.2\n---\na: 1", "- 1\n...\n", "a: *nope", "? [a]\n: b\n", "1: b", "a: .nan", "<<: {a: 1}", "hello", "a: b: c", "a: b\n...\ngarbage: [\n",
 "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d]"] {
  println!("== {t:?}");
  for d in lamplighter::resources::read_documents(t.as_bytes()) { println!("   {d:?}"); }
 }
 let deep = "[".repeat(100000);
  for d in lamplighter::resources::read_documents(deep.as_bytes()) { println!("   {d:?}"); }
 let wide = format!("a: [{}]", "1,".repeat(100000));
  for d in lamplighter::resources::read_documents(wide.as_bytes()) { println!("   {d:?}"); }
}
#[allow(dead_code)]
fn crd() { use kube::CustomResourceExt; println!("{}", serde_json::to_string_pretty(&lamplighter::resources::OtaRollout::crd()).unwrap()); println!("{}", serde_yaml::to_string(&lamplighter::resources::EdgeGateway::crd()).unwrap());}
