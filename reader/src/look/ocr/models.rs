//! The two models that recognize text: one finds lines, one reads a line. They are the small models of PP-OCRv6 in ONNX form. Must
//! not know pictures, nor how results become words.

use std::path::Path;
use std::sync::Arc;

use rten::{Model, ModelOptions, RunOptions, ThreadPool, Value};
use rten_tensor::NdTensor;
use rten_tensor::prelude::*;
use thiserror::Error;

use crate::look::refusal::Refusal;

/// The file of the model that finds lines.
pub const DETECT_FILE: &str = "det.onnx";
/// The file of the model that reads a line.
pub const RECOGNIZE_FILE: &str = "rec.onnx";
/// The entry of the second model that lists the characters it knows, one a line.
const CHARACTERS: &str = "character";

/// The models, ready to run. They are not changed by a run.
pub struct Models {
    detect: Model,
    recognize: Model,
    /// The character of each class of the second model. Class 0 means: no character.
    characters: Vec<String>,
    /// One thread: reading is background work.
    threads: Arc<ThreadPool>,
}

/// A file is there, but is no such model.
#[derive(Debug, Error)]
#[error("the file {0} of the models is damaged; put the models there again with `packaging/models.sh`")]
pub struct DamagedModel(&'static str);

/// The bytes of the files of the models. They are read before the process gives up its files.
pub struct ModelFiles {
    detect: Vec<u8>,
    recognize: Vec<u8>,
}

impl ModelFiles {
    /// Reads the files in a directory. An error: they are not there.
    pub fn read(dir: &Path) -> std::io::Result<ModelFiles> {
        let read = |name: &str| std::fs::read(dir.join(name));
        Ok(ModelFiles { detect: read(DETECT_FILE)?, recognize: read(RECOGNIZE_FILE)? })
    }
}

impl Models {
    /// Makes the models ready. May start threads.
    pub fn load(files: ModelFiles) -> Result<Models, DamagedModel> {
        let load = |bytes, name| ModelOptions::with_all_ops().load(bytes).map_err(|_| DamagedModel(name));
        let detect = load(files.detect, DETECT_FILE)?;
        let recognize = load(files.recognize, RECOGNIZE_FILE)?;
        let listed = recognize.metadata().get(CHARACTERS).ok_or(DamagedModel(RECOGNIZE_FILE))?;
        let characters = std::iter::once("").chain(listed.lines()).chain([" "]).map(str::to_owned).collect();
        Ok(Models { detect, recognize, characters, threads: Arc::new(ThreadPool::with_num_threads(1)) })
    }

    /// How likely each pixel belongs to a line of text, as [height, width]. `picture`: [1, 3, height, width].
    pub(super) fn detect(&self, picture: NdTensor<f32, 4>) -> Result<NdTensor<f32, 2>, Refusal> {
        let output: NdTensor<f32, 4> = self.run(&self.detect, picture)?;
        Ok(output.slice((0, 0)).to_tensor())
    }

    /// How likely each character stands at each place of a line, as [place, class]. `line`: [1, 3, 48, width].
    pub(super) fn recognize(&self, line: NdTensor<f32, 4>) -> Result<NdTensor<f32, 2>, Refusal> {
        let output: NdTensor<f32, 3> = self.run(&self.recognize, line)?;
        Ok(output.slice(0).to_tensor())
    }

    /// The character of a class. None: no character.
    pub(super) fn character(&self, class: usize) -> Option<&str> {
        self.characters.get(class).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// The class of a space. None: the model knows none.
    pub(super) fn space(&self) -> Option<usize> {
        self.characters.iter().rposition(|text| text == " ")
    }

    fn run<const N: usize>(&self, model: &Model, input: NdTensor<f32, 4>) -> Result<NdTensor<f32, N>, Refusal>
    where
        NdTensor<f32, N>: TryFrom<Value>,
    {
        let mut options = RunOptions::default();
        options.thread_pool = Some(self.threads.clone());
        let output = model.run_one(input.into(), Some(options)).map_err(|_| Refusal::ModelFailed)?;
        output.try_into().map_err(|_| Refusal::ModelFailed)
    }
}
